package gateway

import (
	"net"
	"path/filepath"
	"strconv"

	"gatewaytui/core/environment/proxy"
)

// newHosts is the network of sandboxes that have a list of hosts.
func (g *Gateway) newHosts() proxy.Sandboxes {
	var own []uint16 // as far as the config names them
	for _, address := range []string{g.config().Adapters.API.Listen, g.config().Metrics.Listen} {
		_, number, _ := net.SplitHostPort(address) // the config was checked; one that is empty has no port
		if port, err := strconv.ParseUint(number, 10, 16); err == nil && port > 0 {
			own = append(own, uint16(port))
		}
	}
	return proxy.Sandboxes{Folder: filepath.Join(g.opts.Home.Dir, temporaryDir, "proxies"), OwnPorts: own}
}
