"""A dataset in a storage that speaks S3: moto's server, on this machine."""

import fsspec
import pytest

import fairwave as fw

pytest.importorskip("s3fs")
server = pytest.importorskip("moto.server")


@pytest.fixture
def storage(monkeypatch):
    """A bucket, and the environment in which s3fs finds its server."""
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    storage = fsspec.filesystem("s3", skip_instance_cache=True)
    storage.mkdir("bucket")
    yield storage
    running.stop()


def test_runs_of_a_dataset_in_s3_are_made_once(tiny, storage):
    url = "s3://bucket/sweep"
    table = fw.sweep(tiny, seeds=2, dataset=url).to_arrow()
    assert table.equals(fw.sweep(tiny, seeds=2).to_arrow())
    storage.invalidate_cache()
    files = {path: storage.cat_file(path) for path in storage.find("bucket")}
    assert len(files) == 4
    storage.rm_file(min(files))
    assert fw.sweep(tiny, seeds=2, dataset=url).to_arrow().equals(table)
    storage.invalidate_cache()
    assert {path: storage.cat_file(path) for path in storage.find("bucket")} == files
