# Sourced by the scripts beside it: makes .venv at the top of the repository with what is asked for.
#   prepare EXTRA...     creates or updates .venv with the package (editable) and its optional dependencies
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$top/.venv"

say() { printf '%s\n' "$*" >&2; }

apt_install() {
  # Installs Debian packages where this user may; otherwise says what to run.
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing Debian packages: $*"
    { apt-get install -y -qq "$@" || { apt-get update -qq && apt-get install -y -qq "$@"; }; } >/dev/null 2>&1 && return 0
  fi
  say "missing: $*; on Debian or Ubuntu: sudo apt-get install $*"
  return 1
}

# Debian packages that tests use when they can: a server, other compilers, emulators. Tests of what is missing are skipped.
want_for_tests() {
  local missing=()
  command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing+=(postgresql)
  command -v gcc-11 >/dev/null || missing+=(gcc-11)
  command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
  command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
  [ -d /usr/include/simde ] || missing+=(libsimde-dev)
  if [ "${#missing[@]}" -gt 0 ]; then
    apt_install "${missing[@]}" || say "tests that need them are skipped"
  fi
}

find_python() {
  local name
  for name in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
    if [ -n "$name" ] && command -v "$name" >/dev/null &&
      "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s' "$name"
      return 0
    fi
  done
  say "Python 3.11 or newer is needed and was not found; install it, or name it: PYTHON=/path/to/python3 $0"
  return 1
}

have_compiler() { command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null; }

prepare() {
  local python extras stamp extra missing
  python=$(find_python)
  if ! "$venv/bin/python" -c '' 2>/dev/null; then
    say "making $venv"
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
      rm -rf "$venv"
      apt_install python3-venv
      "$python" -m venv "$venv"
    fi
  fi
  stamp=$(cksum <"$top/pyproject.toml")
  missing=()
  for extra in base "$@"; do
    [ "$(cat "$venv/installed-$extra" 2>/dev/null)" = "$stamp" ] || missing+=("$extra")
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    say "installing kernelwright and what it needs into .venv (a minute or two)"
    extras=$(IFS=,; printf '%s' "$*")
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -e "$top${extras:+[$extras]}" >&2
    for extra in base "$@"; do printf '%s' "$stamp" >"$venv/installed-$extra"; done
  fi
  if ! have_compiler && ! "$venv/bin/python" -c 'import ziglang' 2>/dev/null; then
    say "no C compiler was found; installing the one in the Python package ziglang"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -e "$top[compiler]" >&2
  fi
  if ! command -v bwrap >/dev/null; then
    apt_install bubblewrap || say "candidate code runs in a bubblewrap sandbox; without it, allow less by name: --sandbox reduced"
  fi
}
