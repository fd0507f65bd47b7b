package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// unsolicited is a model endpoint that sends more than it was asked for on each connection.
func unsolicited(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the gateway's end of the connection
				defer conn.Close()
				lines := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(lines)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					body := `{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/v1"
}

// TF44: what net/http prints is a line of the log like every other.
func TestTF44_NoLineOfTheLogIsRaw(t *testing.T) {
	g := start(t, newHome(t), fmt.Sprintf("[model]\nprovider = \"openai\"\nname = \"m\"\nbase_url = %q\napi_key_env = \"\"\n", unsolicited(t)))
	if reply, status := g.chat("maria", "hi"); status != http.StatusOK {
		t.Fatalf("answered %d %s", status, reply)
	}
	l := g.await("the line of net/http", func(l line) bool { return l.text("msg") == "library.log" })
	if !strings.Contains(l.text("text"), "Unsolicited response") || l.text("level") != "WARN" {
		t.Errorf("logged %v", l)
	}
	g.stop()
	for text := range strings.Lines(g.output()) {
		if !json.Valid([]byte(text)) {
			t.Errorf("a raw line in the log: %q", text)
		}
	}
}
