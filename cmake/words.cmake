# The manual page and the completion of shells, told by the program when it is installed: each where its reader looks.
set(program_words "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")
  foreach(word IN ITEMS
      \"man:man/man1:foretrain.1\" \"completion bash:bash-completion/completions:foretrain\"
      \"completion zsh:zsh/site-functions:_foretrain\" \"completion fish:fish/vendor_completions.d:foretrain.fish\")
    string(REPLACE \":\" \";\" word \"\${word}\")
    list(GET word 0 arguments)
    list(GET word 1 folder)
    list(GET word 2 name)
    separate_arguments(arguments)
    file(MAKE_DIRECTORY \"\${share}/\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:foretrain>\" \${arguments} OUTPUT_FILE \"\${share}/\${folder}/\${name}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(CODE "${program_words}" COMPONENT program)
