ARG BASE
FROM ${BASE}
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
WORKDIR /home/ui-server
COPY server ./ui-server
COPY config ./config
USER temporal
CMD ["./ui-server", "--env", "docker", "start"]
