# Builds bots in Go; what it made runs in the native image. On a BASE that has Go already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v go >/dev/null || { apt-get update && apt-get install -y --no-install-recommends golang-go && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
