package container

import (
	"testing"

	"go.uber.org/goleak"

	"gatewaytui/fixtures/docker"
)

func TestMain(m *testing.M) {
	docker.Play()
	goleak.VerifyTestMain(m)
}
