package files

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// every is each kind of call for one path.
func (w *work) every(name string) map[string]error {
	_, read := w.read(name)
	_, write := w.folder.Write(w.Context(), name, "overwritten")
	_, edit := w.folder.Edit(w.Context(), name, secret, "overwritten", false)
	_, list := w.folder.List(w.Context(), name, 1, "")
	_, search := w.folder.Search(w.Context(), Query{Pattern: ".", Path: name, Limit: 9})
	return map[string]error{"read": read, "write": write, "edit": edit, "list": list, "search": search}
}

func TestTR9_NoPathLeadsOutOfTheWorkFolder(t *testing.T) {
	for name, tt := range map[string]struct {
		path  string
		setup func(w *work)
	}{
		"two dots":                              {path: "../outside/secret.txt"},
		"two dots behind a folder":              {path: "sub/../../outside/secret.txt"},
		"an absolute path":                      {path: "/etc/passwd"},
		"a home":                                {path: "~/secret.txt"},
		"a link to a file outside":              {path: "l", setup: func(w *work) { w.link("../outside/secret.txt", "l") }},
		"a link to a folder outside":            {path: "l/secret.txt", setup: func(w *work) { w.link("../outside", "l") }},
		"an absolute link":                      {path: "l", setup: func(w *work) { w.link(filepath.Join(w.outer, "outside/secret.txt"), "l") }},
		"a link to a link that leads out":       {path: "l", setup: func(w *work) { w.link("m", "l"); w.link("..", "m") }},
		"a link that goes up behind a link":     {path: "sub/l/../../outside/secret.txt", setup: func(w *work) { w.link("..", "sub/l") }},
		"a link to the root":                    {path: "l/etc/passwd", setup: func(w *work) { w.link("/", "l") }},
		"a link to the descriptors of a thread": {path: "l", setup: func(w *work) { w.link("/proc/self/fd", "l") }},
		"a link that leads to itself":           {path: "l", setup: func(w *work) { w.link("l", "l") }},
		"links that lead in a circle":           {path: "l/x", setup: func(w *work) { w.link("m", "l"); w.link("l", "m") }},
		"a NUL":                                 {path: "a\x00.txt"},
		"a path that is too long":               {path: strings.Repeat("a/", 3000)},
		"a name that is too long":               {path: strings.Repeat("a", 300)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.put("sub/b.txt", "b")
			if tt.setup != nil {
				tt.setup(w)
			}
			for call, err := range w.every(tt.path) {
				if err == nil {
					t.Errorf("%s %q is not refused", call, tt.path)
				} else if strings.Contains(err.Error(), secret) {
					t.Errorf("%s %q shows the secret: %v", call, tt.path, err)
				}
			}
			w.untouched()
		})
	}
}

func TestPathsThatStayInsideAreFollowed(t *testing.T) {
	for name, tt := range map[string]struct {
		path, want string
		setup      func(w *work)
	}{
		"a name":                                {path: "a.txt", want: "a.txt"},
		"dots and slashes that change nothing":  {path: "./sub//../a.txt", want: "a.txt"},
		"an absolute path":                      {path: "WORK/a.txt", want: "a.txt"},
		"a link to a file":                      {path: "l", want: "a.txt", setup: func(w *work) { w.link("a.txt", "l") }},
		"a link to a folder":                    {path: "l/b.txt", want: "sub/b.txt", setup: func(w *work) { w.link("sub", "l") }},
		"an absolute link":                      {path: "sub/l", want: "a.txt", setup: func(w *work) { w.link(filepath.Join(w.dir, "a.txt"), "sub/l") }},
		"a link up":                             {path: "sub/l", want: "a.txt", setup: func(w *work) { w.link("../a.txt", "sub/l") }},
		"an absolute path where work is a link": {path: "LINK/a.txt", want: "a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.put("sub/b.txt", "one\ntwo\n")
			linked := filepath.Join(w.outer, "linked")
			if err := os.Symlink("work", linked); err != nil {
				t.Fatal(err)
			}
			if tt.setup != nil {
				tt.setup(w)
			}
			w.folder = New(linked, Own{})
			path := strings.NewReplacer("WORK", w.dir, "LINK", linked).Replace(tt.path)
			text, err := w.folder.Read(t.Context(), path, whole)
			if err != nil || text.Path != tt.want || strings.Join(text.Content, "\n") != "one\ntwo" {
				t.Errorf("read %s: %+v, %v", path, text, err)
			}
			if _, err := w.folder.Write(t.Context(), path, "new"); err != nil {
				t.Errorf("write %s: %v", path, err)
			}
			w.has(tt.want, "new")
			w.untouched()
		})
	}
}

// A pipe that is opened for reading blocks until another process writes, and a device may act.
func TestTR9_OnlyRegularFilesAreOpened(t *testing.T) {
	w := newWork(t)
	if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(w.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	hostile := map[string]string{"pipe": "a named pipe", "s": "a socket", "to the pipe": "a named pipe"}
	w.link("pipe", "to the pipe")
	if syscall.Mknod(filepath.Join(w.dir, "null"), syscall.S_IFCHR|0o666, 1<<8|3) == nil { // root alone may
		hostile["null"] = "a device"
	}
	for name, kind := range hostile {
		for call, err := range w.every(name) {
			w.refused(call+" of "+name, err, kind)
		}
	}
	found, err := w.folder.Search(t.Context(), Query{Pattern: "one", Path: ".", Limit: 9})
	if err != nil || len(found.Matches) != 1 || found.Files != 1 || found.Unread != 0 {
		t.Errorf("a search between them: %+v, %v", found, err)
	}
	list, err := w.folder.List(t.Context(), ".", 1, "")
	if err != nil || len(list.Entries) != 1+len(hostile) {
		t.Errorf("a list of them: %+v, %v", list, err)
	}
	w.untouched()
}

func TestTR9_WhatBelongsToTheGatewayIsOutOfReach(t *testing.T) {
	w := newWork(t)
	home := filepath.Join(w.dir, "state/gateway")
	for _, name := range []string{"gateway.db", "api.key", "logs/gateway.jsonl", "work/mine.txt"} {
		w.put("state/gateway/"+name, secret)
	}
	w.put("conf/config.toml", secret)
	w.put("key.txt", secret)
	w.link("state/gateway", "short")
	w.link("config.toml", "conf/link.toml")
	if err := os.Link(filepath.Join(home, "gateway.db"), filepath.Join(w.dir, "second name.db")); err != nil {
		t.Fatal(err)
	}
	w.folder = New(w.dir, Own{Home: home, Work: filepath.Join(home, "work"), Files: []string{
		filepath.Join(w.dir, "conf/config.toml"), filepath.Join(w.dir, "key.txt"), filepath.Join(w.dir, "conf/later.toml"), "",
	}})
	for _, path := range []string{
		"state/gateway", "state/gateway/gateway.db", "state/gateway/new", "state/gateway/logs/gateway.jsonl", "short/api.key",
		"state/gateway/work/../api.key", "conf/config.toml", "conf/link.toml", "conf/later.toml", "key.txt", "second name.db",
	} {
		for call, err := range w.every(path) {
			w.refused(call+" of "+path, err, "belongs to the gateway")
		}
	}
	if text, err := w.read("short/work/mine.txt"); err != nil || text != secret {
		t.Errorf("the folder for agents: %q, %v", text, err)
	}
	found, err := w.folder.Search(t.Context(), Query{Pattern: "no user", Path: ".", Limit: 9})
	if err != nil || len(found.Matches) != 0 {
		t.Errorf("a search found %+v, %v", found, err)
	}
	list, err := w.folder.List(t.Context(), ".", 9, "")
	if err != nil || strings.Contains(fmt.Sprint(list), "gateway.db") || strings.Contains(fmt.Sprint(list), "key.txt") {
		t.Errorf("a list has %+v, %v", list, err)
	}
	w.has("state/gateway/gateway.db", secret)
}

func TestAWorkFolderInsideOfTheHomeIsThatForAgentsAlone(t *testing.T) {
	w := newWork(t)
	for dir, mine := range map[string]bool{"home/work": true, "home/work/deep": true, "home": false, "home/logs": false} {
		home := filepath.Join(w.dir, "home")
		f := New(filepath.Join(w.dir, dir), Own{Home: home, Work: filepath.Join(home, "work")})
		_, err := f.Write(t.Context(), "x.txt", "x")
		if mine && err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if !mine {
			w.refused(dir, err, "belongs to the gateway")
		}
	}
}

// FuzzPaths follows hostile paths: none reaches what is outside, and none makes anything there.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{
		"a.txt", "", ".", "..", "../outside/secret.txt", "sub/up/up", "out", "out/secret.txt", "abs", "loop", "sub/../out", "/", "//", "sub/up/../outside/secret.txt",
		"home/gateway.db", "in/sub/up/home", "~", "a\x00", "new/deep/x", "a.txt/x", "\xff\xfe", "sub\n", "\x1b]0;x\a",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		w := newWork(t)
		w.put("sub/b.txt", "b")
		w.put("home/gateway.db", secret)
		for name, target := range map[string]string{
			"out": "../outside", "abs": filepath.Join(w.outer, "outside/secret.txt"), "loop": "loop", "sub/up": "..", "in": ".",
		} {
			w.link(target, name)
		}
		w.folder = New(w.dir, Own{Home: filepath.Join(w.dir, "home"), Work: filepath.Join(w.dir, "home/work")})
		text, err := w.read(path)
		if strings.Contains(text, secret) {
			t.Errorf("read %q shows the secret", path)
		}
		found, _ := w.folder.Search(t.Context(), Query{Pattern: "no user", Path: path, Limit: 9})
		if len(found.Matches) > 0 {
			t.Errorf("search in %q found %+v", path, found)
		}
		_, _ = w.folder.List(t.Context(), path, 3, "")
		_, edited := w.folder.Edit(t.Context(), path, secret, "x", false)
		written, wrote := w.folder.Write(t.Context(), path, "new content")
		if edited == nil {
			t.Errorf("the secret was edited at %q", path)
		}
		if wrote == nil {
			if again, err := w.read(path); err != nil || again != "new content" {
				t.Errorf("%q, written as %q, is read as %q, %v", path, written.Path, again, err)
			}
		} else if err == nil {
			t.Errorf("%q is read, and not written: %v", path, wrote)
		}
		w.has("home/gateway.db", secret)
		w.untouched()
	})
}
