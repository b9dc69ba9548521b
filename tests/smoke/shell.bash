# Somebody of the shell, with the tarball unpacked where it lies: Tab, the manual page, and a job's prologue that asks first.
set -eu
cd /root/foretrain-*
PATH=$PWD/bin:$PATH
fault() { echo "shell: $*"; exit 1; }

# Bash's completion from its file, asked as bash asks it.
source share/bash-completion/completions/foretrain
COMP_LINE="foretrain predict --cluster vist" COMP_POINT=${#COMP_LINE}
COMP_WORDS=(foretrain predict --cluster vist) COMP_CWORD=3
compopt() { :; } # which needs a line that is being edited
_foretrain
[[ ${COMPREPLY[*]} == vista ]] || fault "Tab gives '${COMPREPLY[*]}'"

# The manual page from where the tarball has it.
MANPATH=$PWD/share/man MANWIDTH=80 man -P cat foretrain > /root/manual
grep -q -- '--fail-if-not-fit' /root/manual || fault "the manual page does not tell --fail-if-not-fit"

# A prologue of a job: what does not fit does not start.
prologue() { foretrain predict "$1" --brief --fail-if-not-fit; }
cat > /root/run.yaml << 'RUN'
model: llama-2-13b
cluster: dgx-h100
gpus: 8
global_batch: 64
plan: {tp: 2, micro_batch: 4}
RUN
status=0
prologue /root/run.yaml || status=$?
((status == 3)) || fault "a plan that does not fit ends with $status"
sed -i 's/tp: 2/tp: 8/' /root/run.yaml
sed -i 's/micro_batch: 4/micro_batch: 1/' /root/run.yaml
prologue /root/run.yaml || fault "a plan that fits ends with $?"

# Rows for other programs, and pipes whose readers go away.
rows=$(foretrain predict /root/run.yaml --over tp=2,4,8 --csv - | wc -l)
((rows == 4)) || fault "$rows rows of CSV"
foretrain list models | head -1
foretrain list models >&- 2> /root/said && fault "nobody was told that there is no stdout"
[[ $(< /root/said) == 'foretrain: error: cannot write the answer: Bad file descriptor' ]] || fault "$(< /root/said)"
