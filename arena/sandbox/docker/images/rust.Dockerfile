# Builds bots in Rust; what it made runs in the native image. On a BASE that has rustc already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v rustc >/dev/null || { apt-get update && apt-get install -y --no-install-recommends rustc libc6-dev && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
