"""A server of a storage, in a process that has nothing else to load."""

from optuna.storages import RDBStorage, run_grpc_proxy_server


def serve(port: int, url: str) -> None:
    """Be the server, until ended."""
    run_grpc_proxy_server(RDBStorage(url), host="127.0.0.1", port=port)
