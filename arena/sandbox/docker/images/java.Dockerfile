# Runs Java bots, and builds them. On a BASE that has the JDK already nothing is fetched. A slim Debian has no folder for
# manual pages, and the JDK isn't installed without one.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN command -v javac >/dev/null || { mkdir -p /usr/share/man/man1 && apt-get update && apt-get install -y --no-install-recommends openjdk-17-jdk-headless && rm -rf /var/lib/apt/lists/*; }
USER 65534:65534
WORKDIR /tmp
