package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Embedded is the Source of a config that no file set.
const Embedded = "embedded default"

// fileVariable names the config file where no flag does.
const fileVariable = envPrefix + "CONFIG"

// maxFile bounds the config file, in bytes.
const maxFile = 1 << 20

// Options is what Load goes by.
type Options struct {
	// Path is the file that a flag named; empty looks where CONTRACT.md, 3 says.
	Path string
	// Environ is the environment as os.Environ returns it; nil is the process's own.
	Environ []string
}

// Loaded is a config that is valid, and where it came from.
type Loaded struct {
	Config Config
	// Source is the path of the file, or Embedded.
	Source string
	// Path is the absolute path of the file, empty for Embedded, and At when it was read.
	Path string
	At   time.Time
	// Warnings are what an operator should fix although the gateway runs with it.
	Warnings []ops.Warning

	options Options
	sum     [sha256.Size]byte // of the file's content
	origins map[string]Origin
	// errors are what is wrong, and faulty the keys and tables that it is about.
	errors Errors
	faulty map[string]bool
	// standing has for model and agent the table that was written for them, models.default and agents.default.
	standing map[string]string
}

// Origin is where a value was set. The zero value is the default.
type Origin struct {
	File         string
	Line, Column int
	Variable     string
}

func (o Origin) String() string {
	switch {
	case o.Variable != "":
		return o.Variable
	case o.File != "":
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return "default"
}

// Value is one key as it is in force.
type Value struct {
	Key string
	// Value is what would stand in the file.
	Value  string
	Origin Origin
}

// Values is every key as it is in force, in the order of the example. It holds no secret.
func (l *Loaded) Values() []Value {
	var values []Value
	for _, s := range l.settings() {
		values = append(values, Value{s.name, shown(s.value), l.origins[s.name]})
	}
	return values
}

// Load finds the config file, reads it, lets the environment override it, and checks the whole. An error is Errors: all
// that is wrong, not only the first (TF26).
//
// The file is Options.Path, else $GATEWAYTUI_CONFIG, else gatewaytui/config.toml in $XDG_CONFIG_HOME (~/.config without
// it) if there is one, else the embedded default.
func Load(o Options) (Loaded, error) {
	l := Loaded{Config: Default(), Source: Embedded, At: time.Now(), options: o, origins: map[string]Origin{}, faulty: map[string]bool{}, standing: map[string]string{}}
	env := environment(o.Environ)
	path := o.Path
	if path == "" {
		path = find(env)
	}
	if path != "" {
		data, err := read(path)
		if err != nil {
			return Loaded{}, Errors{{File: path, Message: err.Error()}}
		}
		l.Source, l.sum = path, sha256.Sum256(data)
		if l.Path, err = filepath.Abs(path); err != nil {
			return Loaded{}, Errors{{File: path, Message: "the working directory is gone: " + err.Error()}}
		}
		l.decode(path, data)
	}
	l.override(env)
	l.joinDefaults()
	l.validate()
	l.validateAgents()
	if len(l.errors) > 0 {
		return Loaded{}, l.errors.sorted()
	}
	return l, nil
}

// Digest names the content of the file; empty: the config is of no file.
func (l *Loaded) Digest() string {
	if l.Path == "" {
		return ""
	}
	return hex.EncodeToString(l.sum[:8])
}

// Look is the Digest that Again would return. It reads the file. An error says why the file cannot be read now.
func (l *Loaded) Look() (digest string, err error) {
	path := l.options.Path
	if path == "" {
		path = find(environment(l.options.Environ))
	}
	if path == "" {
		return "", nil
	}
	data, err := read(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// Again is a Load with the same options.
func (l *Loaded) Again() (Loaded, error) { return Load(l.options) }

// find is the file that the environment points to, or "" for none.
func find(env map[string]string) string {
	if path := env[fileVariable]; path != "" {
		return path
	}
	path := usualPlace(func(name string) string { return env[name] })
	if path == "" {
		return ""
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	return path
}

// usualPlace is where the config file is, or would be, without a flag and without $GATEWAYTUI_CONFIG; empty: HOME is not set.
func usualPlace(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG base directory specification ignores a relative one
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "gatewaytui", "config.toml")
}

// Place is the absolute path of the config file that Load reads, or would read once the file is there. flag is the file that a flag
// named, empty for none.
func Place(flag string, getenv func(string) string) (string, error) {
	path := cmp.Or(flag, getenv(fileVariable), usualPlace(getenv))
	if path == "" {
		return "", &Error{Message: "HOME is not set, so the folder of the config is unknown: name the file with --config"}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", &Error{File: path, Message: "the working directory is gone: " + err.Error()}
	}
	return abs, nil
}

// read returns a regular file's bytes. Anything else is refused before it is opened: a FIFO without a writer would be
// waited on for ever.
func read(path string) ([]byte, error) {
	data, err := readRegular(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the config file: %w", err)
	}
	return data, nil
}

func readRegular(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, reason(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %s", humanize.IBytes(uint64(limit)))
	}
	return data, nil
}

// reason is a file error without the path, which the message has already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// add adds what is wrong with the key or table name.
func (l *Loaded) add(e *Error, name string) {
	l.faulty[name] = true
	if len(l.errors) < maxErrors {
		l.errors = append(l.errors, e)
	}
}

// fault is what is wrong with keys[0], reported at the first of keys that is set.
func (l *Loaded) fault(message string, keys ...string) *Error {
	e := &Error{Key: keys[0], Message: term.Clean(message, maxMessage)}
	for _, k := range keys {
		if o, set := l.origins[k]; set {
			e.File, e.Line, e.Column, e.Variable = o.File, o.Line, o.Column, o.Variable
			break
		}
	}
	return e
}

// wants is the message that a value is not what its key takes.
func wants(key, want string, got any) string {
	return fmt.Sprintf("%s must be %s, not %s", key, want, describe(key, got))
}

func environment(environ []string) map[string]string {
	if environ == nil {
		environ = os.Environ()
	}
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if _, twice := env[name]; !twice { // the first of two counts, as for os.Getenv
			env[name] = value
		}
	}
	return env
}
