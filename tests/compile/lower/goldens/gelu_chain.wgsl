@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b2: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b3: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i1 = i32(id % u32(24)) * 4;
  let quotient0 = id / u32(24);
  let i0 = i32(quotient0);
  let t0 = b0[bitcast<i32>(P[0].y) + i0 * 24 + (i1 >> 2u)];
  let t0x = t0.x;
  let t0y = t0.y;
  let t0z = t0.z;
  let t0w = t0.w;
  let t1 = b1[bitcast<i32>(P[0].z) + (i1 >> 2u)];
  let t1x = t1.x;
  let t1y = t1.y;
  let t1z = t1.z;
  let t1w = t1.w;
  // programs.py:21
  let t2x = (t0x * t1x);
  let t2y = (t0y * t1y);
  let t2z = (t0z * t1z);
  let t2w = (t0w * t1w);
  let t3 = b2[bitcast<i32>(P[0].w) + (i1 >> 2u)];
  let t3x = t3.x;
  let t3y = t3.y;
  let t3z = t3.z;
  let t3w = t3.w;
  let t4x = (t2x + t3x);
  let t4y = (t2y + t3y);
  let t4z = (t2z + t3z);
  let t4w = (t2w + t3w);
  // programs.py:23
  let t5x = (0.5f * t4x);
  let t5y = (0.5f * t4y);
  let t5z = (0.5f * t4z);
  let t5w = (0.5f * t4w);
  let t6x = (0.044714998453855515f * t4x);
  let t6y = (0.044714998453855515f * t4y);
  let t6z = (0.044714998453855515f * t4z);
  let t6w = (0.044714998453855515f * t4w);
  let t7x = (t6x * t4x);
  let t7y = (t6y * t4y);
  let t7z = (t6z * t4z);
  let t7w = (t6w * t4w);
  let t8x = (t7x * t4x);
  let t8y = (t7y * t4y);
  let t8z = (t7z * t4z);
  let t8w = (t7w * t4w);
  let t9x = (t4x + t8x);
  let t9y = (t4y + t8y);
  let t9z = (t4z + t8z);
  let t9w = (t4w + t8w);
  let t10x = (0.7978845834732056f * t9x);
  let t10y = (0.7978845834732056f * t9y);
  let t10z = (0.7978845834732056f * t9z);
  let t10w = (0.7978845834732056f * t9w);
  let t11x = tanh_f(t10x);
  let t11y = tanh_f(t10y);
  let t11z = tanh_f(t10z);
  let t11w = tanh_f(t10w);
  let t12x = (1.0f + t11x);
  let t12y = (1.0f + t11y);
  let t12z = (1.0f + t11z);
  let t12w = (1.0f + t11w);
  let t13x = (t5x * t12x);
  let t13y = (t5y * t12y);
  let t13z = (t5z * t12z);
  let t13w = (t5w * t12w);
  // programs.py:22
  let t14x = sigmoid_f(t0x);
  let t14y = sigmoid_f(t0y);
  let t14z = sigmoid_f(t0z);
  let t14w = sigmoid_f(t0w);
  // programs.py:23
  let t15x = (t13x * t14x);
  let t15y = (t13y * t14y);
  let t15z = (t13z * t14z);
  let t15w = (t13w * t14w);
  b3[bitcast<i32>(P[1].x) + i0 * 24 + (i1 >> 2u)] = vec4<f32>(t15x, t15y, t15z, t15w);
}
