# The tarball's program, where there is nothing but the C and C++ libraries and a shell.
set -e
cd /root/foretrain-*
PATH=$PWD/bin:$PATH
foretrain -V
foretrain predict --model llama-3-8b --cluster dgx-h100 --gpus 64 --global-batch 512 --plan tp=2,zero=1 --brief
foretrain search --model gpt2 --cluster dgx-h100 --gpus 8 --global-batch 8 --stack megatron --set pp=1 --top 1 > /root/found
foretrain sampler > /root/foretrain_sample.py
foretrain predict --json > /root/answer.json 2> /root/note
foretrain schema predict > /root/schema.json
foretrain validate --help > /root/help
for word in yaml-cpp fmt CLI11 toml zlib; do
  case "$(cat share/doc/foretrain/LICENCES.third-party)" in *$word*) ;; *) echo "no licence of $word"; exit 1 ;; esac
done
test -s share/doc/foretrain/LICENSE
