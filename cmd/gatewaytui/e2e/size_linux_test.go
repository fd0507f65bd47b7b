package e2e

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

// maxBinary bounds the static binary, in bytes.
const maxBinary = 38_000_000

func TestTheProgramStaysBelow38MB(t *testing.T) {
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" && len(program) > maxBinary {
		t.Errorf("the program has %d bytes, at most %d are wanted", len(program), maxBinary)
	}
	// The names of functions stay in a stripped binary.
	if bytes.Contains(program, []byte("text/template.(*state).evalField")) {
		t.Error("text/template is linked: it looks methods up by name, so that the linker keeps every method, which are 4 MB; " +
			"go build -ldflags=-dumpdep tells who uses it")
	}
}
