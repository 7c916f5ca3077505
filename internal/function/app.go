package function

import (
	"context"
	"fmt"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/registry"
)

// UseApp makes the version that the configuration names the registry of this process. Without a version the registry is
// that of the example. It is called before anything else is built.
func UseApp(ctx context.Context, cfg config.Config) error {
	if cfg.AppVersion == "" {
		return nil
	}
	file, err := dynamo.NewAppStore(Table(cfg)).File(ctx, cfg.AppVersion)
	if err != nil {
		return fmt.Errorf("APP_VERSION=%s: %w", cfg.AppVersion, err)
	}
	app, err := registry.Parse([]byte(file))
	if err != nil {
		return fmt.Errorf("APP_VERSION=%s:\n%w", cfg.AppVersion, err)
	}
	registry.Use(app)
	return nil
}
