package gateway

import (
	"fmt"
	"os"
	"time"

	"gatewaytui/core/address"
	"gatewaytui/core/config"
	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/web"
)

// webMost is how long one call of a web tool may take, where tools.timeout allows more.
const webMost = 30 * time.Second

// useWeb makes what web tools and browsers work with.
func (of *generation) useWeb() error {
	c := of.Config
	allowed, err := address.ParseAllowed(c.Web.AllowPrivate)
	if err != nil {
		return fmt.Errorf("read web.allow_private: %w", err)
	}
	key, err := config.Secret(c.Web.SearchKeyEnv, "", os.Getenv)
	if err != nil {
		return fmt.Errorf("read web.search_key_env: %w", err)
	}
	of.guard = address.NewGuard(address.Options{Allowed: allowed, Key: "web.allow_private", OwnPorts: ownPorts(c)})
	of.web = web.New(web.Options{Guard: of.guard, Timeout: min(c.Tools.Timeout.Duration, webMost), SearchURL: c.Web.SearchURL, SearchKey: key})
	return nil
}

// reaches reports whether the network of an agent's environment has a host, so that no person is asked about it.
func (of *generation) reaches(agent string, host hosts.Target) bool {
	e := of.Config.EnvironmentOf(of.Config.AgentsByName()[agent].Environment)
	if e.Network.All {
		return true
	}
	list, err := hosts.Parse(e.Network.Hosts)
	return err == nil && list.Allow(host)
}
