// What shells are given to complete foretrain's words: each asks foretrain itself, so that new options, names and keys
// need no new script.
#pragma once

#include <string_view>

namespace foretrain {

inline constexpr std::string_view kBashScript =
    R"(# bash completion for foretrain: source this, or put it into
# ~/.local/share/bash-completion/completions/foretrain
_foretrain() {
  local rest=${COMP_LINE:0:COMP_POINT} word="" before="" tail action="" answer i IFS=$' \t\n'
  local -a words
  # Bash breaks words at = and : too; what no space parts is one word. Quotes are no part of it.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    (( i == 0 )) || [[ $rest == [[:space:]]* ]] && words+=("")
    rest=${rest#"${rest%%[![:space:]]*}"}
    word=${COMP_WORDS[i]}
    (( i < COMP_CWORD )) || word=$rest
    rest=${rest#"$word"}
    words[-1]+=${word//[\\\"\']/}
  done
  (( ${#words[@]} > 1 )) || return
  word=${words[-1]}
  # Bash replaces what stands behind the last of its breaks in a word alone.
  [[ $word == *[=:]* && $COMP_WORDBREAKS == *=* ]] && before=${word%"${word##*[=:]}"}
  type -P -- "${words[0]}" > /dev/null || words[0]=foretrain
  IFS=$'\n'
  COMPREPLY=()
  while read -r answer; do
    case $answer in
      :*) action=$answer ;;
      *) answer=${answer%%$'\t'*}; COMPREPLY+=("${answer#"$before"}") ;;
    esac
  done < <("${words[0]}" completion --line "${words[*]}" 2> /dev/null)
  tail=${word#"$before"}
  case $action in
    :files) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$tail")) ;;
    :folders) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$tail")) ;;
    :goes_on) compopt -o nospace ;;
  esac
}
complete -F _foretrain foretrain
)";

inline constexpr std::string_view kZshScript = R"(#compdef foretrain
# zsh completion for foretrain: put this as _foretrain into a folder of $fpath, or source it behind compinit.
_foretrain() {
  local program=${words[1]} answer action
  local -a found shown
  whence -- $program > /dev/null || program=foretrain
  local line="${(F)words[1,CURRENT-1]}"$'\n'"$PREFIX"
  for answer in "${(@f)$($program completion --line "$line" 2> /dev/null)}"; do
    case $answer in
      :*) action=$answer ;;
      *$'\t'*) found+=("${answer%%$'\t'*}"); shown+=("${answer%%$'\t'*}  -- ${answer#*$'\t'}") ;;
      ?*) found+=("$answer"); shown+=("$answer") ;;
    esac
  done
  case $action in
    :goes_on) compadd -S '' -l -d shown -a found ;;
    *) compadd -l -d shown -a found ;;
  esac
  [[ $action == :files || $action == :folders ]] && compset -P '--*='
  case $action in
    :files) _files ;;
    :folders) _files -/ ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _foretrain "$@"
else
  compdef _foretrain foretrain
fi
)";

inline constexpr std::string_view kFishScript = R"(# fish completion for foretrain: put this into
# ~/.config/fish/completions/foretrain.fish
function __foretrain_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set current (string replace -ra '[\\\\"\']' '' -- "$current")
    set -l line (string join \n -- $words $current | string collect)
    test -n "$current"; or set line $line\n
    for answer in (foretrain completion --line $line 2> /dev/null)
        switch $answer
            case ':files' ':folders'
                set -l option (string match -r -- '^--[^=]*=' $current)
                set -l path (string replace -r -- '^--[^=]*=' '' $current)
                set -l complete __fish_complete_path
                test $answer = :files; or set complete __fish_complete_directories
                for found in ($complete "$path")
                    printf '%s%s\n' "$option" $found
                end
            case ':*'
            case '*'
                printf '%s\n' $answer
        end
    end
end
complete -c foretrain -f -a '(__foretrain_candidates)'
)";

}  // namespace foretrain
