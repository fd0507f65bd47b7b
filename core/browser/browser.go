// Package browser makes the browsers of sessions (HR2): each is a server of tools, by Playwright, with a Chromium of its own. Package mcp
// starts, lists and ends them like every other server.
//
// What it promises:
//
//   - Nothing is downloaded: Playwright's server and Chromium are programs of the machine, and Find says what is missing and how to get it.
//   - All that a browser keeps is in one folder below the home, which only this user can enter. Close removes it, and Sweep removes what
//     earlier lives left.
//   - Pages come through a proxy of the gateway, on 127.0.0.1, and Chromium has no other way: it looks up no names, and WebRTC and QUIC do
//     not go past the proxy. The proxy refuses private addresses as package address has them.
//   - Pages of files and of the browser itself are not opened, so that no page and no model reads files of this machine through it.
//
// It is not a sandbox for Chromium itself, which runs as the user of the gateway: a page that breaks out of Chromium's own sandbox can do what
// that user can. As root Chromium has no sandbox of its own.
//
// browser.go makes the launch, find.go finds the programs, config.go has what Playwright reads.
package browser

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"gatewaytui/core/address"
	"gatewaytui/core/environment"
	"gatewaytui/core/environment/proxy"
	"gatewaytui/core/environment/proxy/hosts"
)

const (
	// temporary is the folder for temporary files in that of a browser.
	temporary = "tmp"
	// socketTail is the longest path of a socket that Chromium makes below its temporary folder, and socketMost how long the path of
	// a socket may be (unix(7)).
	socketTail = len("/org.chromium.Chromium.XXXXXX/SingletonSocket")
	socketMost = 107
)

// Options of Browsers.
type Options struct {
	// Folder belongs to Browsers: each browser has a folder below it.
	Folder string
	// Guard decides to which addresses pages connect. It is asked at each connection, so that a reload holds for open browsers.
	Guard func() *address.Guard
	// Root says that the gateway runs as root.
	Root bool
}

// Browsers makes browsers. Its methods may be called from any goroutine.
type Browsers struct {
	o Options

	mu   sync.Mutex
	made map[string]bool // the names of the folders that this life made
}

// New returns Browsers. It does no I/O.
func New(o Options) *Browsers { return &Browsers{o: o, made: map[string]bool{}} }

// Launch is how the server of a browser starts.
type Launch struct {
	Command []string
	// Env is added to the variables that programs see, as NAME=value.
	Env []string
	// Close ends the proxy and removes the folder, within the time of ctx. It is called when no process of the browser is left, and may
	// be called again.
	Close func(ctx context.Context) error
}

// Launch makes a browser's folder and its proxy. command is the command of Playwright's server, or empty: it is found in PATH.
func (b *Browsers) Launch(ctx context.Context, command []string) (Launch, error) {
	programs, err := Find(command)
	if err != nil {
		return Launch{}, err
	}
	if err := os.MkdirAll(b.o.Folder, 0o700); err != nil {
		return Launch{}, fmt.Errorf("make the folder of the browsers: %w", err)
	}
	folder, err := b.newFolder()
	if err != nil {
		return Launch{}, fmt.Errorf("make the folder of a browser: %w", err)
	}
	drop := func(err error) (Launch, error) { return Launch{}, errors.Join(err, os.RemoveAll(folder)) }
	if n := len(filepath.Join(folder, temporary)) + socketTail; n > socketMost {
		return drop(fmt.Errorf("the path of the home is %d bytes too long for the sockets of Chromium; move the home to a shorter path", n-socketMost))
	}
	way, listens, err := proxy.Listen(proxy.Options{
		Key: "web.allow_private", Ask: func(context.Context, string) error { return nil },
		Resolve: func(ctx context.Context, name string) ([]netip.Addr, error) { return b.o.Guard().Resolve(ctx, name) },
		Check:   func(host hosts.Target, addr netip.Addr) error { return b.o.Guard().Check(host, addr) },
	})
	if err != nil {
		return drop(err)
	}
	closeAll := func(ctx context.Context) error {
		err := errors.Join(way.Close(ctx), environment.RemoveFolder(ctx, folder))
		if err == nil {
			b.forget(folder)
		}
		return err
	}
	file, err := writeConfig(folder, settings{Chromium: programs.Chromium, Proxy: "http://" + listens, Root: b.o.Root})
	if err != nil {
		return Launch{}, errors.Join(err, closeAll(ctx))
	}
	return Launch{Command: append(programs.Server, "--config", file), Env: variables(folder), Close: closeAll}, nil
}

// newFolder makes the folder of a browser. Its name is short because of the sockets below it, and known to Sweep before it exists.
func (b *Browsers) newFolder() (string, error) {
	for {
		var random [4]byte
		_, _ = rand.Read(random[:]) // it never fails
		name := hex.EncodeToString(random[:])
		b.mu.Lock()
		b.made[name] = true
		b.mu.Unlock()
		folder := filepath.Join(b.o.Folder, name)
		if err := os.Mkdir(folder, 0o700); !errors.Is(err, os.ErrExist) {
			return folder, err
		}
	}
}

// forget ends the life of a folder that was removed.
func (b *Browsers) forget(folder string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.made, filepath.Base(folder))
}

// variables keep what Chromium and Playwright write in the folder of the browser.
func variables(folder string) []string {
	at := func(name string) string { return filepath.Join(folder, name) }
	return []string{
		"HOME=" + folder, "TMPDIR=" + at(temporary), "XDG_CONFIG_HOME=" + at("config"), "XDG_CACHE_HOME=" + at("cache"), "XDG_DATA_HOME=" + at("data"),
		"XDG_STATE_HOME=" + at("state"), "XDG_RUNTIME_DIR=" + at(temporary), "NO_COLOR=1", "FORCE_COLOR=0", // errors for a model have no colours
	}
}

// Sweep removes what browsers of earlier lives left. Their processes must have ended.
func (b *Browsers) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(b.o.Folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		b.mu.Lock()
		own := b.made[entry.Name()]
		b.mu.Unlock()
		if !own {
			errs = append(errs, environment.RemoveFolder(ctx, filepath.Join(b.o.Folder, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
