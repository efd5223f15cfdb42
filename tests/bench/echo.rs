//! What a request is held against: lines that come back as they are, by a bare tokio program,
//! JSON-RPC as somebody would write it in Python, and a bare handler of axum's.

use std::process::ExitCode;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, UnixListener};

/// The same by asyncio. Its first line says that it is there, and at which port.
pub const PYTHON: &str = r#"
import asyncio, json, sys

async def serve(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        ask = json.loads(line)
        said = {"jsonrpc": "2.0", "id": ask["id"], "result": {"status": "ok"}}
        writer.write((json.dumps(said) + "\n").encode())
        await writer.drain()
    writer.close()

async def main(how, where):
    loop = asyncio.get_running_loop()
    if how == "stdio":
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        out = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
        writer = asyncio.StreamWriter(out[0], out[1], reader, loop)
        writer.write(b"0\n")
        return await serve(reader, writer)
    if how == "unix":
        server, port = await asyncio.start_unix_server(serve, where), 0
    else:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await server.serve_forever()

asyncio.run(main(sys.argv[1], sys.argv[2]))
"#;

/// This program as the echo: `bench --echo unix|tcp|stdio|axum PATH`; axum answers with what is at PATH.
pub fn main(how: &str, path: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let served = runtime.and_then(|runtime| runtime.block_on(serve(how, path)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bench --echo: {e}");
            ExitCode::from(2)
        }
    }
}

async fn serve(how: &str, path: &str) -> std::io::Result<()> {
    match how {
        "unix" => {
            let listener = UnixListener::bind(path)?;
            crate::print("0\n");
            let (read, write) = listener.accept().await?.0.into_split();
            echo(read, write).await
        }
        "tcp" => {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            crate::print(&format!("{}\n", listener.local_addr()?.port()));
            let stream = listener.accept().await?.0;
            stream.set_nodelay(true)?;
            let (read, write) = stream.into_split();
            echo(read, write).await
        }
        "axum" => {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            crate::print(&format!("{}\n", listener.local_addr()?.port()));
            let body: Bytes = std::fs::read(path)?.into();
            let one = get(move |Path(_): Path<String>| async move {
                ([(CONTENT_TYPE, "application/json")], body)
            });
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            axum::serve(listener, Router::new().route("/v1/runs/{id}", one)).await
        }
        _ => {
            crate::print("0\n");
            echo(tokio::io::stdin(), tokio::io::stdout()).await
        }
    }
}

async fn echo(
    read: impl AsyncRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    while read.read_until(b'\n', &mut line).await? > 0 {
        write.write_all(&line).await?;
        write.flush().await?;
        line.clear();
    }
    Ok(())
}
