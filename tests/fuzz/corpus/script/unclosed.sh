if [ -z "$A" ]; then
  B=$(cat "x" | wc -l)
fi
for i in 1 2; do torchrun x.py --tp "${B[$i]:-${C:=1}}" <<E
