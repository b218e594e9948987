# Runs JavaScript bots. On a BASE that has Node.js already nothing is fetched.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v node >/dev/null || { apt-get update && apt-get install -y --no-install-recommends nodejs && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
