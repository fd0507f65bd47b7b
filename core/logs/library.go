package logs

import (
	"bytes"
	"io"
	"log"
	"log/slog"

	"gatewaytui/core/ops"
)

// Library returns a writer for libraries that log lines of text, such as net/http through the package log. Each Write
// becomes one line of l at level warn, with the text in the key "text" (TF44). The text is cleaned and redacted like every
// other value. Any goroutine may use the writer, also after l was closed.
func Library(l *slog.Logger) io.Writer { return library{l} }

type library struct{ log *slog.Logger }

// Write implements io.Writer. It never fails.
func (w library) Write(text []byte) (int, error) {
	w.log.Warn(ops.LogLibrary, "text", string(bytes.TrimSpace(text)))
	return len(text), nil
}

// Capture sends what the package log prints to l until restore is called. The transport of net/http has no other way to
// report, for instance, an unsolicited response. The package log belongs to the process, so only its main program calls
// this.
func Capture(l *slog.Logger) (restore func()) {
	writer, flags := log.Writer(), log.Flags()
	log.SetOutput(Library(l))
	log.SetFlags(0)
	return func() {
		log.SetOutput(writer)
		log.SetFlags(flags)
	}
}
