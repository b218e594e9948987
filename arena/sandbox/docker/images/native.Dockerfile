# Runs compiled bots (C, C++, Rust, Go) and shell scripts, and builds those in C and C++ and those that come with a Makefile.
# On a BASE that has the compilers already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v g++ >/dev/null && command -v make >/dev/null || { apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev make && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
