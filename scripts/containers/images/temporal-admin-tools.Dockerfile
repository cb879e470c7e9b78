ARG BASE
FROM ${BASE}
RUN groupadd --gid 1000 temporal && useradd --uid 1000 --gid temporal --create-home temporal
COPY temporal temporal-sql-tool /usr/local/bin/
COPY schema /etc/temporal/schema/postgresql/v12
USER temporal
CMD ["sh", "-c", "trap exit INT HUP TERM; sleep infinity"]
