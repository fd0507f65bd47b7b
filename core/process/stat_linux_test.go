package process

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gatewaytui/core/process/kernel"
)

const rest = " 0 0 0 0 7 5 0 0 20 0 3 0 4711 1000 25 18446744073709551615 1 1 0"

func TestParseStat(t *testing.T) {
	want := proc{Ident: ident{PID: 12, Start: 4711}, PPID: 3, PGRP: 12, SID: 5, State: 'S', Flags: 4194304, Threads: 3, CPU: 12, RSS: 25}
	for _, tt := range []struct {
		name, in string
		want     proc
	}{
		{"a usual line", "12 (sleep) S 3 12 5 0 -1 4194304" + rest + "\n", want},
		{"a name with blanks and parentheses", "12 (a) R 1 (b c) S 3 12 5 0 -1 4194304" + rest, want},
		{"a name with line ends", "12 (a\n13 (b) S 3 12 5 0 -1 4194304" + rest, want},
		{"no name", "12 () S 3 12 5 0 -1 4194304" + rest, want},
		{"a group of another namespace", "12 (x) S 3 -1 -1 0 -1 4194304" + rest, proc{
			Ident: want.Ident, PPID: 3, State: 'S', Flags: 4194304, Threads: 3, CPU: 12, RSS: 25,
		}},
		{"nothing", "", proc{}},
		{"no parenthesis", "12 sleep S 3 12 5", proc{}},
		{"cut short", "12 (sleep) S 3 12 5 0 -1 4194304 0 0", proc{}},
		{"no pid", " (sleep) S 3 12 5 0 -1 4194304" + rest, proc{}},
		{"pid 0", "0 (sleep) S 3 12 5 0 -1 4194304" + rest, proc{}},
		{"a pid below zero", "-1 (sleep) S 3 12 5 0 -1 4194304" + rest, proc{}},
		{"a number that is too large", "99999999999999999999 (sleep) S 3 12 5 0 -1 4194304" + rest, proc{}},
		{"a word for a number", "12 (sleep) S three 12 5 0 -1 4194304" + rest, proc{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := kernel.ParseStat([]byte(tt.in))
			if got != tt.want || (err == nil) != (tt.want != proc{}) {
				t.Errorf("%+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	t.Run("our own", func(t *testing.T) {
		got, err := statOf(os.Getpid())
		if err != nil || got.PID != os.Getpid() || got.PPID != os.Getppid() || got.Start == 0 || !got.Alive() || got.Kernel() || got.Threads < 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestProc_Alive(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    proc
		want bool
	}{
		{"it runs", proc{State: 'R', Threads: 1}, true},
		{"it is stopped", proc{State: 'T', Threads: 1}, true},
		{"it hangs", proc{State: 'D', Threads: 1}, true},
		{"a zombie", proc{State: 'Z', Threads: 1}, false},
		{"a first thread that ended before the others", proc{State: 'Z', Threads: 2}, true},
		{"dead", proc{State: 'X'}, false},
	} {
		if got := tt.p.Alive(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestParseEnviron(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     marks
	}{
		{"nothing", "", marks{}},
		{"no marks", "PATH=/bin\x00HOME=/\x00", marks{}},
		{"all marks", "A=1\x00" + EnvLife + "=l\x00" + EnvSession + "=a=b\x00" + EnvSpawn + "=7\x00B=2\x00", marks{"l", "a=b", "7"}},
		{"the first of a name counts", EnvLife + "=one\x00" + EnvLife + "=two\x00", marks{life: "one"}},
		{"without an end", EnvLife + "=l", marks{life: "l"}},
		{"names that begin alike", EnvLife + "X=l\x00X" + EnvLife + "=l\x00" + EnvLife + "\x00", marks{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseEnviron([]byte(tt.in)); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	for _, s := range []string{
		"12 (sleep) S 3 12 5 0 -1 4194304" + rest + "\n", "1 (a) b) S 1", "(", "1 ()", "1 () ", "1 () S -", "1 (x) S 1 1 1 1 -", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := kernel.ParseStat(in)
		if err != nil {
			if p != (proc{}) {
				t.Errorf("an error with %+v", p)
			}
			return
		}
		if p.PID <= 0 || p.PPID < 0 || p.PGRP < 0 || p.SID < 0 || p.RSS < 0 || p.Threads < 0 {
			t.Errorf("%q reads as %+v", in, p)
		}
		// The name is the process's own choice: no name changes what is read of it.
		if open, end := strings.IndexByte(string(in), '('), strings.LastIndexByte(string(in), ')'); open >= 0 && end > open {
			other, err := kernel.ParseStat([]byte(string(in[:open]) + "(x) R 1 1 1 (y)" + string(in[end+1:])))
			if err != nil || other != p {
				t.Errorf("with another name %+v, %v, not %+v", other, err, p)
			}
		}
	})
}

func FuzzParseEnviron(f *testing.F) {
	for _, s := range []string{"", "\x00\x00", EnvLife + "=a\x00" + EnvLife + "=b", EnvSession, EnvSpawn + "==\x00", "A=" + EnvLife + "=x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m := parseEnviron(in)
		for name, value := range map[string]string{EnvLife: m.life, EnvSession: m.session, EnvSpawn: m.spawn} {
			if value != "" && !strings.Contains("\x00"+string(in)+"\x00", fmt.Sprintf("\x00%s=%s\x00", name, value)) {
				t.Errorf("%s=%q is not in %q", name, value, in)
			}
		}
	})
}
