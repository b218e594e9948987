# Runs bots in C#, and builds them. On a BASE that has mono's compiler already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v mcs >/dev/null || { apt-get update && apt-get install -y --no-install-recommends mono-mcs mono-runtime && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
