package proxy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/environment"
	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/environment/proxy/offer"
	"gatewaytui/core/environment/sandbox"
)

// Sandboxes gives each sandbox whose definition lists hosts a proxy of its own. It implements sandbox.Hosts.
type Sandboxes struct {
	// Folder belongs to it: each session has a folder below, which is removed with the session's sandbox. What an earlier life left
	// under the same name is removed first.
	Folder string
	// Ask decides on a host that the definition does not list: see Options.Ask. nil: such a host is refused.
	Ask func(ctx context.Context, use environment.Use, host string) error
	// OwnPorts are those on which the gateway listens.
	OwnPorts []uint16
}

// Open implements sandbox.Hosts.
func (s Sandboxes) Open(_ context.Context, use environment.Use) (sandbox.Access, error) {
	return s.open(use, Options{})
}

// open opens the proxy of a session. opts are options that do not come from the definition.
func (s Sandboxes) open(use environment.Use, opts Options) (*access, error) {
	var err error
	if opts.Hosts, err = hosts.Parse(use.Definition.Hosts); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program of the gateway: %w", err)
	}
	opts.Key, opts.OwnPorts = "environments."+use.Definition.Name+".network", s.OwnPorts
	if s.Ask != nil {
		opts.Ask = func(ctx context.Context, host string) error { return s.Ask(ctx, use, host) }
	}
	folder := filepath.Join(s.Folder, use.ID)
	if err := os.RemoveAll(folder); err != nil {
		return nil, fmt.Errorf("remove what an earlier life left: %w", err)
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the proxies: %w", err)
	}
	p, err := Open(folder, opts)
	if err != nil {
		return nil, err
	}
	return &access{proxy: p, program: program, hosts: len(use.Definition.Hosts)}, nil
}

// access is the way of one session's commands to their hosts.
type access struct {
	proxy   *Proxy
	program string
	hosts   int
}

func (a *access) Binds() []string { return []string{a.program, a.proxy.folder} }

func (a *access) Wrap(argv []string) (wrapped, env []string) {
	return offer.Argv(a.program, filepath.Join(a.proxy.folder, socketName), argv), nil
}

func (a *access) Detail() string {
	return english.Plural(a.hosts, "host", "") + "; " + a.proxy.Row().String()
}

func (a *access) Close(ctx context.Context) error { return a.proxy.Close(ctx) }
