package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"gatewaytui/core/config"
	"gatewaytui/core/process"
)

// checkServers looks for the programs of the tool servers of the config, and for the variables that they need. Nothing is started.
func (c *checkup) checkServers(context.Context) {
	if !c.valid {
		return
	}
	cfg := c.loaded.Config
	found := 0
	for _, name := range config.Names(cfg.Servers) {
		s := cfg.Servers[name]
		problems := len(c.findings)
		if len(s.Command) > 0 {
			c.checkProgram(name, s.Command[0], cfg.Tools.Workdir)
		}
		for _, variable := range slices.Concat(s.Env, values(s.HeadersEnv)) {
			if c.o.Getenv(variable) == "" {
				c.warn("set it where the gateway is started, for example in its unit file", "servers.%s needs the environment variable %s, which is not set here", name, variable)
			}
		}
		if len(c.findings) == problems {
			found++
		}
	}
	if found > 0 {
		c.ok("%d of %d tool servers have what they need to start", found, len(cfg.Servers))
	}
}

// checkProgram looks for the program of a server as its start will: in PATH, or from the work folder.
func (c *checkup) checkProgram(server, program, workdir string) {
	if filepath.Base(program) == program {
		if _, err := process.Find(program); err != nil {
			c.warn("install it, or correct the key command of the server; until then its tools cannot be called", "the program %s of the server %s is not in PATH", program, server)
		}
		return
	}
	at := program
	if !filepath.IsAbs(at) {
		if workdir == "" { // it is in the home, which may not exist yet
			return
		}
		at = filepath.Join(workdir, at)
	}
	if info, err := os.Stat(at); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		c.warn("install it, or correct the key command of the server; until then its tools cannot be called", "the program %s of the server %s cannot be run", at, server)
	}
}

// values are the values of a table of texts, in order.
func values(table map[string]string) (all []string) {
	for _, v := range table {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}
