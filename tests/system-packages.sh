#!/bin/sh
# The programs and drivers that tests use beside Python: Graphviz, tmux, a C compiler, Chromium and Node for the web
# page, and a Vulkan loader with Mesa's software driver.  As root on Debian or Ubuntu it installs what is missing; elsewhere it says how to, and the
# tests that need them are skipped with a reason (with CI=true they fail).
set -u

missing=
command -v dot >/dev/null 2>&1 || missing="$missing graphviz"
command -v tmux >/dev/null 2>&1 || missing="$missing tmux"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v node >/dev/null 2>&1 || missing="$missing nodejs"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
if [ "$(uname -s)" = Linux ]; then # macOS and Windows bring their own graphics API
  ls /usr/lib*/libvulkan.so.1 /usr/lib/*/libvulkan.so.1 2>/dev/null | grep -q . || missing="$missing libvulkan1"
  ls /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json 2>/dev/null | grep -q . || missing="$missing mesa-vulkan-drivers"
fi
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then
    echo "Installing the system packages$missing ..." >&2
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of words
    if { apt-get update && apt-get install -y --no-install-recommends $missing; } </dev/null >"$log" 2>&1; then
      rm -f "$log"
      exit 0
    fi
    tail -n 20 "$log" >&2
    echo "apt-get could not install$missing (the whole story is in $log)." >&2
    [ "${CI:-}" = true ] && exit 1
    exit 0
  fi
  how="sudo apt-get install -y$missing"
elif command -v dnf >/dev/null 2>&1; then
  how="sudo dnf install -y $(echo "$missing" | sed 's/libvulkan1/vulkan-loader/; s/libc6-dev/glibc-devel/')"
elif command -v pacman >/dev/null 2>&1; then
  how="sudo pacman -S $(echo "$missing" | sed 's/libvulkan1/vulkan-icd-loader/; s/mesa-vulkan-drivers/vulkan-swrast/; s/ libc6-dev//')"
elif command -v brew >/dev/null 2>&1; then
  how="brew install$(echo "$missing" | sed 's/ libc6-dev//')"
else
  how="install:$missing (the names are Debian's)"
fi
echo "Some tests need programs that are not here; without them they are skipped. To have them: $how" >&2
