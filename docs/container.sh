#!/bin/sh
# The entry of the image of docs/Dockerfile: container.sh [COMMAND...]. By default it creates the ladder `spring` where there
# is none, with the options of INIT, and serves it with the options of SERVE.
set -eu
if [ "$(id -u)" = 0 ]; then
  # Control groups for the user coup; without SYS_ADMIN there are none, and `init` and `run` say so.
  top=/sys/fs/cgroup
  if [ ! -e $top/cgroup.controllers ] && mount -o remount,bind,rw $top 2>/dev/null; then   # cgroups v1
    mkdir -p $top/unified
    [ -e $top/unified/cgroup.controllers ] || mount -t cgroup2 none $top/unified   # `docker exec` comes later
  fi
  for group in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts); do
    mount -o remount,bind,rw "$group" 2>/dev/null || continue
    mkdir -p "$group/coup"
    chown -R coup "$group/coup"
    ( echo $$ >"$group/coup/cgroup.procs" ) 2>/dev/null || continue
    [ $group != $top ] || echo "+cpu +memory +pids" >$top/cgroup.subtree_control
  done
  export HOME=/srv/coup
  secret=/run/secrets/database_password
  [ ! -r $secret ] || export PGPASSWORD="$(cat $secret)"   # only root can read the file
  exec setpriv --reuid coup --regid coup --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$0" "$@"
fi
[ $# = 0 ] || exec "$@"
[ -e spring/ladder.toml ] || arena ladder init spring ${INIT:---rules coup}
exec arena ladder serve spring --host 0.0.0.0 --insecure ${SERVE:-}
