# Like the entrypoint of the official image: the configuration comes from the variables.
set -eu
: "${BIND_ON_IP:=$(getent hosts "$(hostname)" | awk '{print $1;}')}"
export BIND_ON_IP
exec temporal-server start
