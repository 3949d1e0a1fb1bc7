/** Sets environment variables that tell programs to use the proxy and to trust its certificates. */

export interface CertificateFiles {
  bundle: string;
  wgetrc: string;
}

export function proxyEnvironment(port: number, certificates?: CertificateFiles): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`;
  const direct = "localhost,127.0.0.1,::1";
  return {
    ...{ http_proxy: proxy, https_proxy: proxy, all_proxy: proxy, no_proxy: direct },
    ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: direct },
    // Node's own fetch and http ignore the variables above without this one (since 22.21 and 24.5).
    NODE_USE_ENV_PROXY: "1",
    // Yarn since version 2 reads only its own names.
    ...{ YARN_HTTP_PROXY: proxy, YARN_HTTPS_PROXY: proxy },
    ...(certificates === undefined ? {} : certificateEnvironment(certificates)),
  };
}

/** The files replace the programs' own root certificates, except that NODE_EXTRA_CA_CERTS adds to them. */
function certificateEnvironment({ bundle: file, wgetrc }: CertificateFiles): Record<string, string> {
  return {
    SSL_CERT_FILE: file, // OpenSSL, Go, Ruby, Python's ssl
    CURL_CA_BUNDLE: file,
    GIT_SSL_CAINFO: file,
    CARGO_HTTP_CAINFO: file,
    REQUESTS_CA_BUNDLE: file,
    PIP_CERT: file,
    NODE_EXTRA_CA_CERTS: file,
    npm_config_cafile: file,
    YARN_HTTPS_CA_FILE_PATH: file,
    AWS_CA_BUNDLE: file,
    DENO_CERT: file,
    WGETRC: wgetrc,
  };
}
