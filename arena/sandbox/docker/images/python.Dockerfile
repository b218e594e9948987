# Runs Python bots. On a BASE that has Python already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v python3 >/dev/null || { apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
