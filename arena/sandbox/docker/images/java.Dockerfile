# Runs Java bots. On a BASE that has Java already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v java >/dev/null || { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
