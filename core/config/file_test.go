package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheFileIsFoundInOrder(t *testing.T) {
	dir := t.TempDir()
	file := func(name, level string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("log.level = \""+level+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag, variable := file("flag.toml", "debug"), file("variable.toml", "warn")
	xdg, home := file("xdg/gatewaytui/config.toml", "error"), file("home/.config/gatewaytui/config.toml", "debug")
	all := []string{"GATEWAYTUI_CONFIG=" + variable, "XDG_CONFIG_HOME=" + filepath.Join(dir, "xdg"), "HOME=" + filepath.Join(dir, "home")}
	for _, c := range []struct {
		name    string
		path    string
		environ []string
		want    string
	}{
		{"a flag comes first", flag, all, flag},
		{"then the variable", "", all, variable},
		{"then the XDG directory", "", all[1:], xdg},
		{"then ~/.config", "", all[2:], home},
		{"an empty variable is ignored", "", append([]string{"GATEWAYTUI_CONFIG="}, all[1:]...), xdg},
		{"a relative XDG directory is ignored", "", []string{"XDG_CONFIG_HOME=xdg", all[2]}, home},
		{"an XDG directory without the file falls to the default", "", []string{"XDG_CONFIG_HOME=" + dir, all[2]}, Embedded},
		{"nothing at all is the default", "", []string{"A=b"}, Embedded},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Load(Options{Path: c.path, Environ: c.environ})
			if err != nil || l.Source != c.want {
				t.Errorf("source %q, error %v; want %q", l.Source, err, c.want)
			}
		})
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, []byte(strings.Repeat("#\n", maxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, says string }{
		{"one that is missing", filepath.Join(dir, "missing.toml"), "no such file"},
		{"a directory", dir, "not a regular file"},
		{"a FIFO without a writer", fifo, "not a regular file"},
		{"one over the bound", big, "larger than 1.0 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Options{Environ: []string{"GATEWAYTUI_CONFIG=" + c.path}})
			if e := refusal(t, err); e.File != c.path || !strings.Contains(e.Error(), c.says) {
				t.Errorf("%q, want %s and %q", e, c.path, c.says)
			}
		})
	}
}
