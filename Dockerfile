# Lithos as a container: HTTP on 8765, the memory in /data. Not built by the project's tests: no Docker runs there.
#   docker build -t lithos . && docker run -p 8765:8765 -v lithos-data:/data lithos
#   docker exec CONTAINER lithos token new --name laptop
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[postgres]"

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 lithos && mkdir /data && chown lithos:lithos /data
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "lithos-memory[postgres]" && rm -rf /wheels
USER lithos
ENV LITHOS_DATA_DIR=/data LITHOS_SERVER__TRANSPORT=http LITHOS_SERVER__HOST=0.0.0.0
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/health', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["lithos"]
CMD ["serve"]
