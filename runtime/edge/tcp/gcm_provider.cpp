#include "runtime/edge/tcp/gcm_provider.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include "runtime/edge/tcp/gcm_cipher.hpp"

// The functions of a cipher are those of openssl/core_dispatch.h, as provider-cipher(7) describes them.
namespace troupe {
namespace {

gcm_cipher& cipher_of(void* context) noexcept {
  return *static_cast<gcm_cipher*>(context);
}

template <const gcm_functions& (*By)() noexcept>
void* make(void*) noexcept {
  return new (std::nothrow) gcm_cipher(By());
}

void drop(void* context) noexcept {
  delete static_cast<gcm_cipher*>(context);
}

int set(void* context, const OSSL_PARAM given[]) noexcept {
  if (const auto* tag = OSSL_PARAM_locate_const(given, OSSL_CIPHER_PARAM_AEAD_TAG); tag != nullptr && tag->data) {
    if (!cipher_of(context).expect_tag({static_cast<const std::uint8_t*>(tag->data), tag->data_size})) return 0;
  }
  const auto* iv = OSSL_PARAM_locate_const(given, OSSL_CIPHER_PARAM_AEAD_IVLEN);
  std::size_t asked = gcm_iv_bytes;
  return iv == nullptr || (OSSL_PARAM_get_size_t(iv, &asked) == 1 && asked == gcm_iv_bytes) ? 1 : 0;
}

template <bool Encrypts>
int begin(void* context, const unsigned char* key, std::size_t key_bytes, const unsigned char* iv, std::size_t bytes,
          const OSSL_PARAM given[]) noexcept {
  const std::span key_given(key, key == nullptr ? 0 : key_bytes);
  const std::span iv_given(iv, iv == nullptr ? 0 : bytes);
  if (!cipher_of(context).begin(Encrypts, key_given, iv_given)) return 0;
  return given == nullptr ? 1 : set(context, given);
}

int update(void* context, unsigned char* into, std::size_t* written, std::size_t room, const unsigned char* from,
           std::size_t bytes) noexcept {
  *written = bytes;
  if (into == nullptr) return cipher_of(context).add_associated({from, bytes}) ? 1 : 0;
  return bytes <= room && cipher_of(context).add({from, bytes}, into) ? 1 : 0;
}

int end(void* context, unsigned char*, std::size_t* written, std::size_t) noexcept {
  *written = 0;
  return cipher_of(context).end() ? 1 : 0;
}

bool put(OSSL_PARAM* asked, const char* name, std::size_t value) noexcept {
  OSSL_PARAM* const place = OSSL_PARAM_locate(asked, name);
  return place == nullptr || OSSL_PARAM_set_size_t(place, value) == 1;
}

int get(void* context, OSSL_PARAM asked[]) noexcept {
  const gcm_cipher& cipher = cipher_of(context);
  OSSL_PARAM* const tag = OSSL_PARAM_locate(asked, OSSL_CIPHER_PARAM_AEAD_TAG);
  if (tag != nullptr) {
    const auto known = cipher.tag();
    if (known.empty() || tag->data_size > known.size()) return 0;
    if (OSSL_PARAM_set_octet_string(tag, known.data(), tag->data_size) != 1) return 0;
  }
  const bool is_put = put(asked, OSSL_CIPHER_PARAM_KEYLEN, cipher.key_bytes()) &&
                      put(asked, OSSL_CIPHER_PARAM_IVLEN, gcm_iv_bytes) &&
                      put(asked, OSSL_CIPHER_PARAM_AEAD_TAGLEN, gcm_tag_bytes);
  return is_put ? 1 : 0;
}

template <const gcm_functions& (*By)() noexcept>
int get_of_kind(OSSL_PARAM asked[]) noexcept {
  const bool is_put = put(asked, OSSL_CIPHER_PARAM_MODE, EVP_CIPH_GCM_MODE) && put(asked, OSSL_CIPHER_PARAM_AEAD, 1) &&
                      put(asked, OSSL_CIPHER_PARAM_CUSTOM_IV, 1) && put(asked, OSSL_CIPHER_PARAM_BLOCK_SIZE, 1) &&
                      put(asked, OSSL_CIPHER_PARAM_KEYLEN, By().key_bytes) &&
                      put(asked, OSSL_CIPHER_PARAM_IVLEN, gcm_iv_bytes);
  return is_put ? 1 : 0;
}

template <class Function>
OSSL_DISPATCH entry(int number, Function function) noexcept {
  return {number, reinterpret_cast<void (*)()>(function)};  // NOLINT: the shape of OpenSSL's tables
}

template <const gcm_functions& (*By)() noexcept>
const OSSL_DISPATCH* cipher_table() noexcept {
  static const std::array table{entry(OSSL_FUNC_CIPHER_NEWCTX, make<By>),
                                entry(OSSL_FUNC_CIPHER_FREECTX, drop),
                                entry(OSSL_FUNC_CIPHER_ENCRYPT_INIT, begin<true>),
                                entry(OSSL_FUNC_CIPHER_DECRYPT_INIT, begin<false>),
                                entry(OSSL_FUNC_CIPHER_UPDATE, update),
                                entry(OSSL_FUNC_CIPHER_FINAL, end),
                                entry(OSSL_FUNC_CIPHER_GET_PARAMS, get_of_kind<By>),
                                entry(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get),
                                entry(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, set),
                                OSSL_DISPATCH{0, nullptr}};
  return table.data();
}

const OSSL_ALGORITHM* ciphers(void*, int operation, int* changes) noexcept {
  *changes = 0;
  static const std::array known{OSSL_ALGORITHM{"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", "provider=troupe",
                                               cipher_table<gcm_256>(), nullptr},
                                OSSL_ALGORITHM{"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", "provider=troupe",
                                               cipher_table<gcm_128>(), nullptr},
                                OSSL_ALGORITHM{nullptr, nullptr, nullptr, nullptr}};
  return operation == OSSL_OP_CIPHER ? known.data() : nullptr;
}

int open_provider(const OSSL_CORE_HANDLE*, const OSSL_DISPATCH*, const OSSL_DISPATCH** out, void** context) noexcept {
  static const std::array table{entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, ciphers), OSSL_DISPATCH{0, nullptr}};
  static int nothing_kept = 0;
  *out = table.data();
  *context = &nothing_kept;
  return 1;
}

OSSL_LIB_CTX* make_library() noexcept {
  if (!has_fast_gcm()) return nullptr;
  OSSL_LIB_CTX* const made = OSSL_LIB_CTX_new();
  const bool is_whole = made != nullptr && OSSL_PROVIDER_add_builtin(made, "troupe", open_provider) == 1 &&
                        OSSL_PROVIDER_load(made, "default") != nullptr && OSSL_PROVIDER_load(made, "troupe") != nullptr;
  if (is_whole) return made;
  OSSL_LIB_CTX_free(made);
  return nullptr;
}

}  // namespace

OSSL_LIB_CTX* gcm_library() noexcept {
  static OSSL_LIB_CTX* const made = make_library();
  return made;
}

}  // namespace troupe
