"""Serve an Optuna storage over gRPC."""

from optuna.storages import RDBStorage, run_grpc_proxy_server


def serve(port: int, url: str) -> None:
    """Serve until the process is ended."""
    run_grpc_proxy_server(RDBStorage(url), host="127.0.0.1", port=port)
