package plain

import (
	"bufio"
	"context"
	"io"
)

// readLines sends the lines of in to the channel that it returns, which is closed when in ends; then the error says why,
// io.EOF for an end that somebody typed. A read cannot be given up: the goroutine ends with in or with the process.
func readLines(ctx context.Context, in io.Reader) (lines <-chan string, why func() error) {
	ch := make(chan string)
	var err error
	go func() {
		defer close(ch)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, maxTyped)
		for scan.Scan() {
			select {
			case ch <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
		if err = scan.Err(); err == nil {
			err = io.EOF
		}
	}()
	return ch, func() error { return err } // to be called once the channel is closed
}

// maxTyped bounds one typed line, in bytes; a terminal itself takes 4095 (termios(3), canonical mode).
const maxTyped = 1 << 20
