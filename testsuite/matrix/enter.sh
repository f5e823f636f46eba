#!/bin/sh
# enter.sh TREE [PATH...] -- [FOLDER=PLACE...] -- COMMAND...: run a command in a tree with a /proc and a /dev of its own.
# Each PATH of this machine is seen there, read-only; each FOLDER stands at the PLACE of the tree, to be written.
# To be started in namespaces of its own for mounts and processes (unshare --mount --pid --fork): all goes with it.
set -eu
tree=$1
shift
# Its root is a mount of its own: without that, nothing can be mounted in namespaces that are made inside.
mount --bind "$tree" "$tree"
mount -t proc proc "$tree/proc"
mount --rbind /sys "$tree/sys"
mount -t tmpfs -o mode=755 dev "$tree/dev"
for name in null zero full random urandom tty; do
  : >"$tree/dev/$name"
  mount --bind "/dev/$name" "$tree/dev/$name"
done
mkdir "$tree/dev/shm" "$tree/dev/pts"
mount -t tmpfs -o mode=1777 shm "$tree/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$tree/dev/pts"
ln -s pts/ptmx "$tree/dev/ptmx"
ln -s /proc/self/fd "$tree/dev/fd"
ln -s fd/0 "$tree/dev/stdin"
ln -s fd/1 "$tree/dev/stdout"
ln -s fd/2 "$tree/dev/stderr"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then
    mkdir -p "$tree$1"
  else
    mkdir -p "$tree${1%/*}"
    : >"$tree$1"
  fi
  mount --rbind "$1" "$tree$1"
  mount -o remount,bind,ro "$tree$1"
  shift
done
shift
while [ "$1" != -- ]; do
  mkdir -p "$tree/${1#*=}"
  mount --bind "${1%%=*}" "$tree/${1#*=}"
  shift
done
shift
# No exec: process 1 has no default signal handlers, and has to wait for the processes that lose their parents.
chroot "$tree" "$@" && exit 0 || exit $?
