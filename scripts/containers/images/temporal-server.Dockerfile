ARG BASE
FROM ${BASE}
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
COPY temporal-server /usr/local/bin/
COPY entrypoint.sh /etc/temporal/entrypoint.sh
WORKDIR /etc/temporal
USER temporal
CMD ["sh", "/etc/temporal/entrypoint.sh"]
