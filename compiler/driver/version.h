// The compiler's version: what artefacts and --version say.
#ifndef SLUICE_DRIVER_VERSION_H
#define SLUICE_DRIVER_VERSION_H

#define SLUICE_VERSION "sluice 0.1"

#endif
