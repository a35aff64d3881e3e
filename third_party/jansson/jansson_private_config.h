/* jansson_private_config.h - empty: what jansson would find by its configuration is defined in cmake/Vendored.cmake. */
