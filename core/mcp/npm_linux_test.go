package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/fixtures/npmtest"
	"gatewaytui/fixtures/soak"
)

// The servers by the authors of the protocol, which are other programs with another SDK.
const (
	filesystem        = "@modelcontextprotocol/server-filesystem"
	filesystemVersion = "2026.8.31"
	everything        = "@modelcontextprotocol/server-everything"
	everythingVersion = "2026.8.31"
	memoryServer      = "@modelcontextprotocol/server-memory"
	memoryVersion     = "2026.8.31"
)

// program is the main file of a server that npm installs.
func program(t *testing.T, name, version string) string {
	t.Helper()
	return filepath.Join(npmtest.Install(t, name, version), "node_modules", filepath.FromSlash(name), "dist", "index.js")
}

// serving is a definition of a server that node runs.
func serving(name string, argv ...string) Definition {
	d := playing(name)
	d.Command = append([]string{"node"}, argv...)
	return d
}

func TestHR1_TheFilesystemServerOfItsAuthorsWorks(t *testing.T) {
	folder := t.TempDir()
	s := newStage(t, nil, serving("files", program(t, filesystem, filesystemVersion), folder))
	if n := len(s.tools("files", "a")); n < 10 {
		t.Fatalf("it offers %d tools", n)
	}
	note := filepath.Join(folder, "note.txt")
	s.must("files", "a", "write_file", `{"path":"`+note+`","content":"buy milk"}`)
	if text, err := os.ReadFile(note); err != nil || string(text) != "buy milk" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if got := s.must("files", "a", "read_text_file", `{"path":"`+note+`"}`); !strings.Contains(got, "buy milk") {
		t.Errorf("it reads %q", got)
	}
	if _, err := s.call("files", "a", "read_text_file", `{"path":"/etc/passwd"}`); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("a file outside of its folder: %v", err)
	}
	if err := s.set.CloseSession(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	s.empty()
}

func TestHR1_FurtherServersOfTheAuthorsWork(t *testing.T) {
	if !soak.On() {
		t.Skip("runs under make soak: the servers are 40 MB")
	}
	s := newStage(t, nil, serving("all", program(t, everything, everythingVersion)), serving("memory", program(t, memoryServer, memoryVersion)))
	if got := s.must("all", "a", "echo", `{"message":"hello"}`); !strings.Contains(got, "hello") {
		t.Errorf("echo says %q", got)
	}
	if got := s.must("all", "a", "get-tiny-image", `{}`); !strings.Contains(got, "image saved as") {
		t.Errorf("a picture is %.300q", got)
	}
	s.must("memory", "a", "create_entities", `{"entities":[{"name":"Maria","entityType":"person","observations":["likes tea"]}]}`)
	if got := s.must("memory", "a", "search_nodes", `{"query":"tea"}`); !strings.Contains(got, "Maria") {
		t.Errorf("it finds %q", got)
	}
	if err := s.set.CloseSession(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	s.empty()
}
