# What was linked against the library, where there is the C library alone: it needs libforetrain.so beside it and no more.
set -e
LD_LIBRARY_PATH=/root /root/scheduler 2> /root/errors
