package function

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/config"
)

// WithSecrets reads the named keys from their secrets, at the same time, unless the environment has them. Without a
// prefix for secrets it does nothing. A function names the keys that it uses, and its role allows it to read no others.
func WithSecrets(ctx context.Context, cfg config.Config, keys ...config.Secret) (config.Config, error) {
	if cfg.SecretPrefix == "" {
		return cfg, nil
	}
	client := secretsmanager.NewFromConfig(AWS(cfg, cfg.SecretsEndpoint))
	group, ctx := errgroup.WithContext(ctx)
	services := cfg.OpenAI // a copy, because the keys in it are written while the next names are made
	for _, key := range keys {
		target := cfg.Key(key)
		if *target != "" {
			continue
		}
		name := key.Name(cfg.SecretPrefix, services.Address(key))
		group.Go(func() error {
			out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &name})
			if err != nil {
				return fmt.Errorf("read secret %s: %w", name, err)
			}
			if *target = strings.TrimSpace(aws.ToString(out.SecretString)); *target == "" {
				return fmt.Errorf("secret %s is empty", name)
			}
			return nil
		})
	}
	err := group.Wait()
	return cfg, err
}
